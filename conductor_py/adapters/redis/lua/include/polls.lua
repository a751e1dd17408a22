-- Who polled what last: 'polldata' by field, and 'polled' the fields by time, so that the oldest go when there are too
-- many. Whoever may poll can invent names.
local MOST_POLLS = 20000

-- `set` is field, value, field, value, ….
local function note_polls(P, set, now)
  redis.call('HSET', P .. 'polldata', unpack(set))
  local times = {}
  for i = 1, #set, 2 do
    times[i], times[i + 1] = int(now), set[i]
  end
  redis.call('ZADD', P .. 'polled', unpack(times))
  local beyond = redis.call('ZCARD', P .. 'polled') - MOST_POLLS
  if beyond > 0 then
    local popped = redis.call('ZPOPMIN', P .. 'polled', math.min(beyond, 1000))
    for i = 1, #popped, 2 do
      redis.call('HDEL', P .. 'polldata', popped[i])
    end
  end
end
