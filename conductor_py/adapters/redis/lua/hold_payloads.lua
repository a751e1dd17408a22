-- PURPOSE    Let a holder have payloads.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       holder, when to look at those that nobody had, paths
-- RETURNS    1
-- INVARIANT  Each payload that is known has a record, is in payloads:due, and in payloads:of: of each holder.
-- BOUND      The payloads of one commit.
local P, holder = KEYS[1], ARGV[1]
for at = 3, #ARGV do
  local record = P .. 'payload:' .. ARGV[at]
  redis.call('HSET', record, holder, 0)
  redis.call('HINCRBY', record, '#', 1)
  redis.call('SADD', P .. 'payloads:of:' .. holder, ARGV[at])
  redis.call('ZADD', P .. 'payloads:due', 'NX', ARGV[2], ARGV[at])
end
return 1
