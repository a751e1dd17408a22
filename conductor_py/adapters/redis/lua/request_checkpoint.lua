-- PURPOSE    Keep what somebody asks of a long task: stop, pause, cancel, run on; or pin its newest records at once.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, seq, what (STOP | PAUSE | CANCEL | RUN | SAVEPOINT), savepoint or '-', at once (0 | 1),
--            part to go on from or '', epoch or -1, most places, most savepoints, most bytes of all that is kept,
--            whether what came after that record is to be taken back (0 | 1)
-- RETURNS    {OK, number of the request, ''} {FULL, 0, what} {IGNORED | HELD | EXISTS | EMPTY | WHICH_PART |
--            UNKNOWN_EPOCH | UNKNOWN_SAVEPOINT | UNKNOWN_TASK | GONE, 0, ''}
-- INVARIANT  The newest request replaces the one before, and ends with the generation of its execution. What a part is
--            to go on from is set only while nobody holds the task, and is over with the next record, or when it is
--            asked to run on from the newest one.
-- BOUND      The parts of one task.
-- @include room
-- @include time
-- @include record
-- @include claim
-- @include checkpoints
local P, now, id, seq, what, name = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local present = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'h', 'a:' .. seq, 'c:' .. seq)
if not present[1] then
  return {'GONE', 0, ''}
end
if not present[3] then
  return {'UNKNOWN_TASK', 0, ''}
end
local record, a, c = read_record(present[1]), cjson.decode(present[3]), read_claim(present[4])
if what ~= 'SAVEPOINT' and not is_open(record, present[2], tonumber(seq), a) then
  return {'IGNORED', 0, ''}
end
local kept = read_place(P .. 'ckpt:' .. id, place_of(a), a.root or tonumber(seq))
local key, parts, size, from = kept.key, {}, 0, nil
for i, part in ipairs(kept.parts) do
  parts[i] = read_part(kept, part)
  size = size + (parts[i].history[1] and parts[i].history[1].bytes or 0)
end
local taken, rewind = false, ARGV[12] == '1' and '!' or ''
for _, one in ipairs(kept.savepoints) do
  taken = taken or one == name
end
if not kept.listed and #places_of(key) >= tonumber(ARGV[9]) then
  return {'FULL', 0, 'places'}
end
local pins = name ~= '-' and what ~= 'RUN'
if pins then
  if taken then
    return {'EXISTS', 0, ''}
  end
  if what == 'SAVEPOINT' and size == 0 then
    return {'EMPTY', 0, ''}
  end
  local full = (#kept.savepoints >= tonumber(ARGV[10]) and 'savepoints')
    or (kept_bytes(key) + size > tonumber(ARGV[11]) and 'bytes')
  if full then
    return {'FULL', 0, full}
  end
end
may_need_room(P, pins and size or 0)
local epoch = tonumber(ARGV[8])
if what == 'RUN' and (name ~= '-' or epoch >= 0) then
  if c.held == 1 and c.closed == 0 and (c['until'] == 0 or c['until'] > now) then
    return {'HELD', 0, ''}
  end
  if name ~= '-' then
    if not taken then
      return {'UNKNOWN_SAVEPOINT', 0, ''}
    end
    from = {}
    for _, one in ipairs(read_savepoint(kept, name).pins) do
      from[one.part] = 's' .. name .. rewind
    end
  else
    local wanted = ARGV[7] ~= '' and ARGV[7] or (#kept.parts == 1 and kept.parts[1])
    if not wanted then
      return {'WHICH_PART', 0, ''}
    end
    for _, part in ipairs(parts) do
      for _, one in ipairs(part.name == wanted and part.history or {}) do
        from = one.epoch == epoch and {[wanted] = 'e' .. int(epoch) .. rewind} or from
      end
    end
    if not from then
      return {'UNKNOWN_EPOCH', 0, ''}
    end
  end
end

if what == 'RUN' and not from then
  from = {}
  for _, part in ipairs(parts) do
    from[part.name] = part.from ~= '-' and '-' or nil
  end
end
local grown = -settle_place(kept)
local number = read_request(kept, record.generation).number
if what ~= 'SAVEPOINT' then
  number = number + 1
  redis.call('HSET', key, 'q:' .. kept.place, table.concat({record.generation, number, int(now), what,
    pins and name or '-', ARGV[6]}, ' '))
end
if pins then
  kept.savepoints[#kept.savepoints + 1] = name
  local point = {name = name, pins = {}}
  redis.call('HSET', key, 's:' .. name .. ' ' .. kept.place, int(now))
  for _, part in ipairs(parts) do
    grown = grown + pin(kept, point, part, int(now))
  end
end
for _, part in ipairs(from and parts or {}) do
  if from[part.name] then
    part.from = from[part.name]
    write_part(kept, part)
  end
end
write_place(kept)
if grown ~= 0 then
  redis.call('HINCRBY', key, 'b', int(grown))
end
return {'OK', number, ''}
