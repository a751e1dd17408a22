-- PURPOSE    Look again at one that cannot be read, or delete it.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, retry | drop, set, member, channel, and for the timer of an execution: its workflow (empty: unknown), id of
--            the effect that has index and archive forget it (empty: none), event of who gets its place under a workflow limit,
--            its header as it was read, id and document of the effect that tells its parent (empty: none), in how many ms
--            that is due
-- RETURNS    1; 0 when it is not known as damaged, or an execution has another header meanwhile
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
if redis.call('HEXISTS', P .. 'damaged', set .. ' ' .. member) == 0 then
  return 0
end
if ARGV[2] == 'retry' then
  redis.call('HDEL', P .. 'damaged', set .. ' ' .. member)
  redis.call('ZADD', P .. set, 'XX', int(now), member)
  return 1
end
-- First, and its entry stays when something stops this half way.
if string.sub(set, 1, 7) == 'timers:' and string.sub(member, 1, 2) == 'x:' then
  if not drop_execution(P, {string.sub(member, 3), unpack(ARGV, 6)}, ARGV[5], now) then
    return 0
  end
end
redis.call('HDEL', P .. 'damaged', set .. ' ' .. member)
redis.call('ZREM', P .. set, member)
if set == 'outbox' then
  redis.call('HDEL', P .. 'effects', member)
elseif set == 'schedules:due' then
  redis.call('HDEL', P .. 'schedules', member)
end
return 1
