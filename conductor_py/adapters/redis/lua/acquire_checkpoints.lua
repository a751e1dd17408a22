-- PURPOSE    Hand what a long task has kept to whoever holds it now, and refuse all who held it before.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, seq, claim, most places
-- RETURNS    {OK, 0, '', name, value, …} {FULL, 0, places} {SUPERSEDED | IGNORED | UNKNOWN_TASK | GONE, 0, ''}
-- INVARIANT  The highest token only grows. What another line of attempts has kept (a restart, a rerun) is deleted.
-- BOUND      What one task may keep.
-- @include room
-- @include time
-- @include record
-- @include claim
-- @include checkpoints
local P, now = KEYS[1], store_now(ARGV[1])
goes_on(P)
local refused, kept, record = held_place(P, now, ARGV[2], ARGV[3], tonumber(ARGV[4]))
if refused then
  return {refused, 0, ''}
end
local key = kept.key
if not kept.listed and #places_of(key) >= tonumber(ARGV[5]) then
  return {'FULL', 0, 'places'}
end

local gone = settle_place(kept)
if gone > 0 then
  redis.call('HINCRBY', key, 'b', int(-gone))
end
kept.token = tonumber(ARGV[4])
write_place(kept)
return shown(kept, record.generation, true, {'OK', 0, ''})
