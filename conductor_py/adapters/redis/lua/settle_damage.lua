-- PURPOSE    Look again at one that cannot be read, or delete it.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, retry | drop, set, member, channel, and for the timer of an execution: its workflow (empty: unknown), id of
--            the effect that has index and archive forget it (empty: none), event of who gets its place under a workflow limit
-- RETURNS    1; 0 when it is not known as damaged
-- INVARIANT  What is dropped has no entry left; with its timer an execution goes, and is listed and counted no more.
-- BOUND      Constant, and the 100 at most that are admitted; memory is freed in the background.
-- @include room
-- @include time
-- @include record
-- @include references
-- @include wake
-- @include permits
-- @include admission
-- @include drop
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
  drop_execution(P, {string.sub(member, 3), ARGV[6], ARGV[7], ARGV[8]}, ARGV[5], now)
end
return 1
