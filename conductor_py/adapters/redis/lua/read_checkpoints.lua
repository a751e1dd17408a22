-- PURPOSE    Read what a long task has kept, or one of its records, as of one instant.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, seq, what (whole: records and notes too | heads | wanted: the request only), part or '',
--            e<epoch> or s<savepoint>
-- RETURNS    {OK, 0, '', name, value, …} or, with a part, {OK, 0, '', x, that record} when there is one;
--            {UNKNOWN_TASK | GONE, 0, ''}
-- INVARIANT  Writes nothing. What another line of attempts has kept does not show. Of a paused execution's
--            task, of which nobody asks anything, a pause is wanted.
-- BOUND      What one task may keep.
-- @include record
-- @include checkpoints
local P, id, seq = KEYS[1], ARGV[1], ARGV[2]
local present = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'a:' .. seq)
if not present[1] then
  return {'GONE', 0, ''}
end
if not present[2] then
  return {'UNKNOWN_TASK', 0, ''}
end
local a = cjson.decode(present[2])
local kept = read_place(P .. 'ckpt:' .. id, place_of(a), a.root or tonumber(seq))
if ARGV[3] == 'wanted' then
  local record = read_record(present[1])
  if not kept.old and read_request(kept, record.generation).action ~= 'RUN' then
    return {'OK', 0, '', 'q', redis.call('HGET', kept.key, 'q:' .. kept.place)}
  end
  return record.status == 'PAUSED' and {'OK', 0, '', 'q', '0 0 0 PAUSE - 0'} or {'OK', 0, ''}
end
if ARGV[4] == '' then
  return shown(kept, read_record(present[1]).generation, ARGV[3] == 'whole', {'OK', 0, ''})
end
local part = read_part(kept, ARGV[4])
local at = string.sub(ARGV[5], 2)
local field = string.byte(ARGV[5]) == 101 and record_name(kept, part, tonumber(at))
  or 'k:' .. at .. ' ' .. part.name .. ' ' .. kept.place
local text = part.known and redis.call('HGET', kept.key, field)
if text then
  return {'OK', 0, '', 'x', text}
end
return {'OK', 0, ''}
