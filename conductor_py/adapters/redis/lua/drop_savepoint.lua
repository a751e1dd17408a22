-- PURPOSE    Forget a savepoint of a long task.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, seq, savepoint
-- RETURNS    {OK | IN_USE | UNKNOWN_SAVEPOINT | UNKNOWN_TASK | GONE, 0, ''}
-- INVARIANT  One that a part is to go on from, or that a wanted stop is to fill, stays.
-- BOUND      The parts of one task.
-- @include room
-- @include record
-- @include checkpoints
local P, id, seq, name = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
goes_on(P)
local present = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'a:' .. seq)
if not present[1] then
  return {'GONE', 0, ''}
end
if not present[2] then
  return {'UNKNOWN_TASK', 0, ''}
end
local a = cjson.decode(present[2])
local kept = read_place(P .. 'ckpt:' .. id, place_of(a), a.root or tonumber(seq))
local at
for i, one in ipairs(kept.savepoints) do
  at = one == name and i or at
end
if not at then
  return {'UNKNOWN_SAVEPOINT', 0, ''}
end
local used = read_request(kept, read_record(present[1]).generation).savepoint == name
for _, part in ipairs(kept.parts) do
  local from = read_part(kept, part).from
  used = used or from == 's' .. name or from == 's' .. name .. '!'
end
if used then
  return {'IN_USE', 0, ''}
end

local names, gone = {'s:' .. name .. ' ' .. kept.place}, 0
for _, one in ipairs(read_savepoint(kept, name).pins) do
  names[#names + 1], gone = 'k:' .. name .. ' ' .. one.part .. ' ' .. kept.place, gone + one.bytes
end
drop_fields(kept.key, names)
table.remove(kept.savepoints, at)
write_place(kept)
redis.call('HINCRBY', kept.key, 'b', string.format('%d', -gone))
return {'OK', 0, ''}
