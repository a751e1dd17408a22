-- Workflow rate limits, see ports/admission.py. `asked` is the section {first, last}: enter or leave, key, limit,
-- reject, event when admitted, event when refused, limit over several partitions. Such a limit is held by the permits
-- that this partition has.
local function may_count(P, id)
  local readable, record = pcall(function()
    local present = redis.call('HGET', P .. 'exec:' .. id, 'v')
    return present and read_record(present)
  end)
  return readable and record and not record.terminal and record
end

-- Drops what is dead among the 100 that are admitted longest.
local function drop_dead(P, admitted)
  for _, id in ipairs(redis.call('ZRANGE', admitted, 0, 99)) do
    if not may_count(P, id) then
      redis.call('ZREM', admitted, id)
    end
  end
end

local function most(P, key, limit, shared)
  return shared and permitted(P, 'w:' .. key, limit) or limit
end

-- Admits those that wait, in order, as long as there is room: 100 at most. Returns who they are.
local function admit_waiting(P, key, event, now, shared)
  local admitted, waiting, woken = P .. 'admitted:' .. key, P .. 'waiting:' .. key, {}
  for _ = 1, 100 do
    local id = redis.call('ZRANGE', waiting, 0, 0)[1]
    if not id then
      break
    end
    local record = may_count(P, id)
    if record then
      local header = redis.call('HGET', P .. 'exec:' .. id, 'h')
      if redis.call('ZCARD', admitted) >= most(P, key, header_int(header, 'alim'), shared) then
        break
      end
      redis.call('ZADD', admitted, int(now), id)
      redis.call('RPUSH', P .. 'inbox:' .. id, event)
      redis.call('ZADD', P .. 'timers:' .. record.home, int(now), 'x:' .. id)
      woken[#woken + 1] = id
    end
    redis.call('ZREM', waiting, id)
  end
  return woken
end

-- May the execution begin at once? Whoever waits goes first.
local function has_room(P, asked, now)
  local key, shared = ARGV[asked[1] + 1], ARGV[asked[1] + 6] == '1'
  local limit = most(P, key, tonumber(ARGV[asked[1] + 2]), shared)
  local admitted = P .. 'admitted:' .. key
  if redis.call('ZCARD', admitted) >= limit then
    drop_dead(P, admitted)
  end
  admit_waiting(P, key, ARGV[asked[1] + 4], now, shared)
  return redis.call('ZCARD', admitted) < limit and redis.call('EXISTS', P .. 'waiting:' .. key) == 0
end

-- Enters the execution; returns whether an event was appended to its own inbox.
local function enter(P, id, asked, room, now)
  local key, inbox = ARGV[asked[1] + 1], P .. 'inbox:' .. id
  if room then
    redis.call('ZADD', P .. 'admitted:' .. key, int(now), id)
    redis.call('RPUSH', inbox, ARGV[asked[1] + 4])
    return true
  end
  if ARGV[asked[1] + 3] == '1' then
    redis.call('RPUSH', inbox, ARGV[asked[1] + 5])
    return true
  end
  local waiting = P .. 'waiting:' .. key
  local last = redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES')[2]
  redis.call('ZADD', waiting, 'NX', int(math.max(now, tonumber(last or 0) + 1)), id)
  return false
end

local function leave(P, id, asked, now)
  local key = ARGV[asked[1] + 1]
  redis.call('ZREM', P .. 'waiting:' .. key, id)
  redis.call('ZREM', P .. 'admitted:' .. key, id)
  return admit_waiting(P, key, ARGV[asked[1] + 4], now, ARGV[asked[1] + 6] == '1')
end

-- An ended execution that is opened again counts at once, even above the limit; it may have ended, while it waited, in
-- the same decision.
local function count_again(P, id, header, now)
  local key = header and string.find(header, '"akey"', 1, true) and cjson.decode(header).akey
  if key then
    redis.call('ZREM', P .. 'waiting:' .. key, id)
    redis.call('ZADD', P .. 'admitted:' .. key, int(now), id)
  end
end
