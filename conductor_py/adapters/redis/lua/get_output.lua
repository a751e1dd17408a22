-- PURPOSE    Read a cached output.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, key
-- RETURNS    the output, false when there is none or its time is over
-- INVARIANT  Writes nothing.
-- BOUND      Constant.
-- @include time
local P, now = KEYS[1], store_now(ARGV[1])
if tonumber(redis.call('ZSCORE', P .. 'cached', ARGV[2]) or 0) <= now then
  return false
end
return redis.call('GET', P .. 'cache:' .. ARGV[2])
