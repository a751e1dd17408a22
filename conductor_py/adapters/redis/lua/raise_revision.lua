-- PURPOSE    Tell a partition that definitions changed.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       revision
-- RETURNS    the revision afterwards
-- INVARIANT  It only grows.
-- BOUND      Constant.
-- @include room
goes_on(KEYS[1])
local key = KEYS[1] .. 'meta:revision'
local present = tonumber(redis.call('GET', key) or 0)
if present < tonumber(ARGV[1]) then
  redis.call('SET', key, ARGV[1])
  return tonumber(ARGV[1])
end
return present
