-- When what was due was not done for a second, of the timers of a home or of effects: spans of time, put together
-- where they meet, ended ms -> began ms. What ended an hour ago is forgotten.
local function note_late(P, what, since, now)
  if now - since < 1000 then
    return
  end
  local key = P .. 'late:' .. what
  local first = redis.call('ZRANGE', key, int(since), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  redis.call('ZREMRANGEBYSCORE', key, int(since), '+inf')
  redis.call('ZADD', key, int(now), int(math.min(since, first and tonumber(first) or since)))
  redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now - 3600000))
end
