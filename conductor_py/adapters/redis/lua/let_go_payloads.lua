-- PURPOSE    Note that a holder is gone from all payloads it has.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       holder, now, when to look at them at the latest
-- RETURNS    how many they are
-- INVARIANT  A look that was due earlier stays due then.
-- BOUND      The payloads of one holder.
-- @include room
local P, holder = KEYS[1], ARGV[1]
goes_on(P)
local paths = redis.call('SMEMBERS', P .. 'payloads:of:' .. holder)
for _, path in ipairs(paths) do
  local record = P .. 'payload:' .. path
  redis.call('HSET', record, holder, ARGV[2])
  redis.call('HINCRBY', record, '#', 1)
  redis.call('ZADD', P .. 'payloads:due', 'LT', ARGV[3], path)
end
return #paths
