-- PURPOSE    Replace the newest record of a part of a long task, and forget the notes before it.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, seq, claim, most places, part, expected epoch, epoch, hash, how many records to keep, most parts,
--            most bytes of all that is kept, record
-- RETURNS    {OK | EPOCH, epoch, ''} {FULL, 0, what} {SUPERSEDED | IGNORED | UNKNOWN_TASK | GONE, 0, ''}
-- INVARIANT  Only who holds the task writes, and only on top of the epoch it expects. The same record again under the
--            same token is a success that changes nothing. While a stop with a savepoint is wanted, that savepoint
--            follows the newest record.
-- BOUND      The notes of one part.
-- @include room
-- @include time
-- @include record
-- @include claim
-- @include checkpoints
local P, now, claim = KEYS[1], store_now(ARGV[1]), tonumber(ARGV[4])
local refused, kept, record = held_place(P, now, ARGV[2], ARGV[3], claim)
if refused then
  return {refused, 0, ''}
end
local key, part = kept.key, read_part(kept, ARGV[6])
local expected, epoch, hash, retain, text = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10]), ARGV[13]
if part.epoch == epoch and part.token == claim and part.hash == hash then
  return {'OK', epoch, ''}
end
if part.epoch ~= expected then
  return {'EPOCH', part.epoch, ''}
end
local full = (kept_bytes(key) + 2 * #text > tonumber(ARGV[12]) and 'bytes')
  or (not part.known and #kept.parts >= tonumber(ARGV[11]) and 'parts')
  or (not kept.listed and #places_of(key) >= tonumber(ARGV[5]) and 'places')
if full then
  return {'FULL', 0, full}
end

may_need_room(P, #text)
local grown = #text - part.note_bytes - settle_place(kept)
local names = note_names(kept, part, 1, part.notes, {})
if part.history[1] and part.history[1].epoch == epoch then
  grown = grown - table.remove(part.history, 1).bytes
end
table.insert(part.history, 1, {epoch = epoch, at = int(now), bytes = #text, hash = hash})
while #part.history > retain do
  local last = table.remove(part.history)
  names[#names + 1], grown = record_name(kept, part, last.epoch), grown - last.bytes
end
drop_fields(key, names)
redis.call('HSET', key, record_name(kept, part, epoch), text)
part.epoch, part.token, part.hash, part.notes, part.note_bytes, part.from = epoch, claim, hash, 0, 0, '-'
write_part(kept, part)
local wanted = read_request(kept, record.generation)
if wanted.action == 'STOP' and wanted.savepoint ~= '-' then
  grown = grown + pin(kept, read_savepoint(kept, wanted.savepoint), part, int(now))
end
if not part.known then
  kept.parts[#kept.parts + 1] = part.name
end
kept.token = claim
write_place(kept)
redis.call('HINCRBY', key, 'b', int(grown))
return {'OK', epoch, ''}
