-- PURPOSE    Put a page of an archived execution's fields into the store, to be restored.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, field, value, …
-- RETURNS    OK | EXISTS
-- INVARIANT  An execution that is present is not touched. Without its record the key is an execution for nobody, and
--            goes by itself after a day.
-- BOUND      The number of arguments.
local key = KEYS[1] .. 'exec:' .. ARGV[1]
if redis.call('HEXISTS', key, 'v') == 1 then
  return 'EXISTS'
end
for from = 2, #ARGV, 4000 do
  redis.call('HSET', key, unpack(ARGV, from, math.min(from + 3999, #ARGV)))
end
redis.call('EXPIRE', key, 86400)
return 'OK'
