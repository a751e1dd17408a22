-- PURPOSE    Keep a message of an event that nobody handles yet.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, event, message, limit, life in ms
-- RETURNS    how many older ones had to go
-- INVARIANT  The same bytes are kept once, at the time they first came.
-- BOUND      The limit.
-- @include room
-- @include time
needs_room(KEYS[1])
local key, now = KEYS[1] .. 'event:held:' .. ARGV[2], store_now(ARGV[1])
redis.call('ZADD', key, 'NX', int(now), ARGV[3])
redis.call('PEXPIRE', key, ARGV[5])
return redis.call('ZREMRANGEBYRANK', key, 0, -tonumber(ARGV[4]) - 1)
