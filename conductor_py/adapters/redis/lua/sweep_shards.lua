-- PURPOSE    Note until when the timers of shards are fired by a sweeper of their own.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, lease in ms, shards …
-- RETURNS    the instant
-- INVARIANT  Routing only: whoever sweeps beside it does no harm.
-- BOUND      The shards named.
-- @include room
-- @include time
goes_on(KEYS[1])
local until_ms = int(store_now(ARGV[1]) + tonumber(ARGV[2]))
for i = 3, #ARGV do
  redis.call('HSET', KEYS[1] .. 'swept', ARGV[i], until_ms)
end
return tonumber(until_ms)
