-- PURPOSE    Note what a look at the holders of a payload has found.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       path, version that was looked at, when to look again, 1 when it is leaving,
--            how many holders are told, then each of them and its state, then those to forget
-- RETURNS    1; 0 when the record is another
-- INVARIANT  A holder that came or went meanwhile is not overwritten.
-- BOUND      The holders that one look tells and forgets.
-- @include room
local P, path = KEYS[1], ARGV[1]
goes_on(P)
local record = P .. 'payload:' .. path
if redis.call('HGET', record, '#') ~= ARGV[2] then
  return 0
end
local told = 5 + 2 * tonumber(ARGV[5])
for at = 6, told, 2 do
  redis.call('HSET', record, ARGV[at], ARGV[at + 1])
end
for at = told + 1, #ARGV do
  redis.call('HDEL', record, ARGV[at])
  redis.call('SREM', P .. 'payloads:of:' .. ARGV[at], path)
end
if ARGV[4] == '1' then
  redis.call('HSET', record, '!', 1)
else
  redis.call('HDEL', record, '!')
end
redis.call('HINCRBY', record, '#', 1)
redis.call('ZADD', P .. 'payloads:due', ARGV[3], path)
return 1
