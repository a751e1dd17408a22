-- How many executions a root has set going here: section H, (root, starts, most, nested, most). An hour after the
-- first it is counted anew.
local function chain_has(key)
  local had = redis.call('HMGET', key, 'starts', 'nested')
  return tonumber(had[1]) or 0, tonumber(had[2]) or 0
end

-- Nil when all of them may be created; else how many of each may.
local function chain_is_full(P, section)
  if not section then
    return nil
  end
  local i = section[1]
  local starts, nested = chain_has(P .. 'chain:' .. ARGV[i])
  local room, room_nested = tonumber(ARGV[i + 2]) - starts, tonumber(ARGV[i + 4]) - nested
  if tonumber(ARGV[i + 1]) <= room and tonumber(ARGV[i + 3]) <= room_nested then
    return nil
  end
  return {math.max(room, 0), math.max(room_nested, 0)}
end

local function count_chain(P, section)
  if not section then
    return
  end
  local i = section[1]
  local key = P .. 'chain:' .. ARGV[i]
  local starts, nested = chain_has(key)
  redis.call('HSET', key, 'starts', int(starts + tonumber(ARGV[i + 1])), 'nested', int(nested + tonumber(ARGV[i + 3])))
  if redis.call('PTTL', key) < 0 then
    redis.call('PEXPIRE', key, 3600000)
  end
end
