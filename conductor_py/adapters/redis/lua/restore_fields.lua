-- PURPOSE    Put a page of an archived execution's fields into the store, to be restored.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, token, field, value, …
-- RETURNS    OK | EXISTS | GONE (another attempt, or none, is under way)
-- INVARIANT  An execution that is present is not touched, nor the pages of another attempt. Without its record the key
--            is an execution for nobody, and goes by itself after a day.
-- BOUND      The number of arguments.
-- @include room
-- @include restoring
local P, id = KEYS[1], ARGV[1]
needs_room(P)
local refused = not_restoring(P, id, ARGV[2])
if refused then
  return refused
end
for from = 3, #ARGV, 4000 do
  redis.call('HSET', P .. 'exec:' .. id, unpack(ARGV, from, math.min(from + 3999, #ARGV)))
end
return 'OK'
