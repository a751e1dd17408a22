-- PURPOSE    Order effects outside of a commit.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, channel, id, document, …
-- RETURNS    how many were new
-- INVARIANT  One that waits already is left as it is.
-- BOUND      The number of arguments.
-- @include room
-- @include time
-- @include wake
local P, now, channel, new = KEYS[1], store_now(ARGV[1]), ARGV[2], 0
goes_on(P)
for i = 3, #ARGV, 2 do
  if redis.call('HSETNX', P .. 'effects', ARGV[i], int(now) .. ' ' .. ARGV[i + 1]) == 1 then
    redis.call('ZADD', P .. 'outbox', int(now), ARGV[i])
    new = new + 1
  end
end
publish(channel, 'e:' .. string.match(P, ':(%d+)}'))
return new
