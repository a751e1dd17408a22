-- PURPOSE    Put a page of what an archived execution's long tasks kept into the store, to be restored.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, token, field, value, …
-- RETURNS    OK | EXISTS | GONE (another attempt, or none, is under way)
-- INVARIANT  As of restore_fields. Without its execution the key goes by itself after a day.
-- BOUND      The number of arguments.
-- @include room
-- @include restoring
local P, id = KEYS[1], ARGV[1]
needs_room(P)
local refused = not_restoring(P, id, ARGV[2])
if refused then
  return refused
end
local key = P .. 'ckpt:' .. id
for from = 3, #ARGV, 4000 do
  redis.call('HSET', key, unpack(ARGV, from, math.min(from + 3999, #ARGV)))
end
redis.call('EXPIRE', key, 86400)
return 'OK'
