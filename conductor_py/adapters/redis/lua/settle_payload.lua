-- PURPOSE    Note what a look at the holders of a payload has found.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       path, version that was looked at, when to look again, then holder and since when it is gone, by turns
-- RETURNS    1; 0 when the record is another
-- INVARIANT  A holder that came or went meanwhile is not overwritten.
-- BOUND      The holders of one payload.
local P, path = KEYS[1], ARGV[1]
local record = P .. 'payload:' .. path
if redis.call('HGET', record, '#') ~= ARGV[2] then
  return 0
end
for at = 4, #ARGV, 2 do
  redis.call('HSET', record, ARGV[at], ARGV[at + 1])
end
redis.call('HINCRBY', record, '#', 1)
redis.call('ZADD', P .. 'payloads:due', ARGV[3], path)
return 1
