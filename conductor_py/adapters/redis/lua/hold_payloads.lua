-- PURPOSE    Let a holder have payloads, those that have a record.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       holder, paths
-- RETURNS    1; 0, and nothing is held, when one of them is leaving
-- INVARIANT  A payload without a record gets none: others that are not known may need it.
-- BOUND      The payloads of one commit.
-- @include room
local P, holder = KEYS[1], ARGV[1]
goes_on(P)
for at = 2, #ARGV do
  if redis.call('HEXISTS', P .. 'payload:' .. ARGV[at], '!') == 1 then
    return 0
  end
end
for at = 2, #ARGV do
  local record = P .. 'payload:' .. ARGV[at]
  if redis.call('EXISTS', record) == 1 then
    redis.call('HSET', record, holder, 0)
    redis.call('HINCRBY', record, '#', 1)
    redis.call('SADD', P .. 'payloads:of:' .. holder, ARGV[at])
  end
end
return 1
