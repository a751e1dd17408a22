-- PURPOSE    Write down which target the action of an event handler is about.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       action, target, life in ms
-- RETURNS    the target that counts
-- INVARIANT  The first word counts until it is forgotten.
-- BOUND      Constant.
-- @include room
goes_on(KEYS[1])
local key = KEYS[1] .. 'event:target:' .. ARGV[1]
local present = redis.call('GET', key)
if present then
  return present
end
redis.call('SET', key, ARGV[2], 'PX', ARGV[3])
return ARGV[2]
