-- PURPOSE    Lease claims of a rate that holds over several partitions.
-- KEYS       prefix of the limit's home partition (every key used is it and a name of keys.py)
-- ARGV       now, task definition, rate, its window in ms, wanted, lease's name, lease in ms
-- RETURNS    {now, granted, when there may be more}
-- INVARIANT  Never more than the rate are leased or were used within a window. One that nobody settles counts until
--            its lease and a window are over.
-- BOUND      The rate.
-- @include room
-- @include time
goes_on(KEYS[1])
local key, now = KEYS[1] .. 'rates:' .. ARGV[2], store_now(ARGV[1])
local rate, window, wanted, lease_ms = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now - window))
local granted = math.max(math.min(wanted, rate - redis.call('ZCARD', key)), 0)
for n = 1, granted do
  redis.call('ZADD', key, int(now + lease_ms), ARGV[6] .. ':' .. n)
end
if granted > 0 then
  redis.call('PEXPIRE', key, int(window + lease_ms))
end
local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
return {now, granted, first[2] and tonumber(first[2]) + window or 0}
