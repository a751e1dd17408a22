-- PURPOSE    Look again at one that cannot be read, or delete it.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, retry | drop, set, member
-- RETURNS    1; 0 when it is not known as damaged
-- INVARIANT  What is dropped has no entry left; with its timer an execution goes.
-- BOUND      Constant; memory is freed in the background.
-- @include room
-- @include time
local P, now, set, member = KEYS[1], store_now(ARGV[1]), ARGV[3], ARGV[4]
goes_on(P)
if redis.call('HDEL', P .. 'damaged', set .. ' ' .. member) == 0 then
  return 0
end
if ARGV[2] == 'retry' then
  redis.call('ZADD', P .. set, 'XX', int(now), member)
  return 1
end
redis.call('ZREM', P .. set, member)
if set == 'outbox' then
  redis.call('HDEL', P .. 'effects', member)
elseif set == 'schedules:due' then
  redis.call('HDEL', P .. 'schedules', member)
elseif string.sub(set, 1, 7) == 'timers:' and string.sub(member, 1, 2) == 'x:' then
  for _, name in ipairs({'exec', 'inbox', 'ans', 'park', 'ckpt', 'log'}) do
    redis.call('UNLINK', P .. name .. ':' .. string.sub(member, 3))
  end
end
return 1
