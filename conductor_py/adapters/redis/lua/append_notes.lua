-- PURPOSE    Append notes to the write-ahead log of a part of a long task.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, seq, claim, most places, part, epoch or -1, position or -1, most parts, most notes,
--            most bytes of notes, most bytes of all that is kept, note, …
-- RETURNS    {OK | POSITION, notes there are, ''} {EPOCH, epoch, ''} {FULL, 0, what}
--            {SUPERSEDED | IGNORED | UNKNOWN_TASK | GONE, 0, ''}
-- INVARIANT  Only who holds the task appends. With epoch and position given, each note stands there once, however often
--            it is sent, and none that comes after the next record.
-- BOUND      The number of notes given.
-- @include room
-- @include time
-- @include record
-- @include claim
-- @include checkpoints
local P, now, claim = KEYS[1], store_now(ARGV[1]), tonumber(ARGV[4])
local refused, kept = held_place(P, now, ARGV[2], ARGV[3], claim)
if refused then
  return {refused, 0, ''}
end
local key, part, given = kept.key, read_part(kept, ARGV[6]), #ARGV - 12
local epoch, position = tonumber(ARGV[7]), tonumber(ARGV[8])
if epoch >= 0 and epoch ~= part.epoch then
  return {'EPOCH', part.epoch, ''}
end
if position >= 0 and position ~= part.notes then
  local same = position + given <= part.notes
  for i, field in ipairs(same and note_names(kept, part, position + 1, position + given, {}) or {}) do
    same = same and redis.call('HGET', key, field) == ARGV[12 + i]
  end
  return {same and 'OK' or 'POSITION', part.notes, ''}
end
local bytes = 0
for i = 13, #ARGV do
  bytes = bytes + #ARGV[i]
end
local full = (part.notes + given > tonumber(ARGV[10]) and 'notes')
  or (part.note_bytes + bytes > tonumber(ARGV[11]) and 'note-bytes')
  or (kept_bytes(key) + bytes > tonumber(ARGV[12]) and 'bytes')
  or (not part.known and #kept.parts >= tonumber(ARGV[9]) and 'parts')
  or (not kept.listed and #places_of(key) >= tonumber(ARGV[5]) and 'places')
if full then
  return {'FULL', 0, full}
end

may_need_room(P, bytes)
bytes, part.note_bytes = bytes - settle_place(kept), part.note_bytes + bytes
if not part.known then
  kept.parts[#kept.parts + 1] = part.name
end
kept.token = claim
write_place(kept)
for i, field in ipairs(note_names(kept, part, part.notes + 1, part.notes + given, {})) do
  redis.call('HSET', key, field, ARGV[12 + i])
end
part.notes = part.notes + given
write_part(kept, part)
redis.call('HINCRBY', key, 'b', int(bytes))
return {'OK', part.notes, ''}
