-- PURPOSE    Drop snapshots that no present execution uses and that nobody touched for a while.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, unused for ms, limit
-- RETURNS    {how many were looked at, how many went}
-- INVARIANT  What a present execution's header names, or whose owner is present, stays. A start or commit counts,
--            and touches, in its own script, so none is dropped under it. What stays is looked at again later.
-- BOUND      limit.
-- @include room
-- @include time
local P, now = KEYS[1], store_now(ARGV[1])
goes_on(P)
local before, gone = now - tonumber(ARGV[2]), 0
local due = redis.call('ZRANGEBYSCORE', P .. 'plans', '-inf', int(before), 'LIMIT', 0, tonumber(ARGV[3]))
for _, plan in ipairs(due) do
  local key = P .. 'plan:' .. plan
  local stored = redis.call('HMGET', key, 'used_at', 'owner')
  local used, owner = tonumber(stored[1] or 0), stored[2]
  if used > before then
    redis.call('ZADD', P .. 'plans', int(used), plan)
  elseif redis.call('HEXISTS', P .. 'references', plan) == 1
    or owner and redis.call('EXISTS', P .. 'exec:' .. owner) == 1 then
    redis.call('ZADD', P .. 'plans', int(now), plan)
  else
    redis.call('UNLINK', key)
    redis.call('ZREM', P .. 'plans', plan)
    gone = gone + 1
  end
end
return {#due, gone}
