-- PURPOSE    Say how many of the claims of a lease were used, give the others back.
-- KEYS       prefix of the limit's home partition (every key used is it and a name of keys.py)
-- ARGV       now, task definition, lease's name, leased, used
-- RETURNS    1
-- INVARIANT  What was used counts from now on for a window, which is no sooner than it was used.
-- BOUND      The number leased.
-- @include room
-- @include time
goes_on(KEYS[1])
local key, now, used = KEYS[1] .. 'rates:' .. ARGV[2], store_now(ARGV[1]), tonumber(ARGV[5])
for n = 1, tonumber(ARGV[4]) do
  local member = ARGV[3] .. ':' .. n
  if n <= used then
    redis.call('ZADD', key, 'XX', int(now), member)
  else
    redis.call('ZREM', key, member)
  end
end
return 1
