-- Attempts of an open execution that changed where a search shows it, and the effect that tells the index: one waits
-- for all of a partition. See ports/touched.py.

-- The effect says how long changes are gathered before the index is told.
local function touch(P, members, gather_ms, now)
  local pairs_of = {}
  for _, member in ipairs(members) do
    pairs_of[#pairs_of + 1], pairs_of[#pairs_of + 2] = int(now), member
  end
  for first = 1, #pairs_of, 4000 do
    redis.call('ZADD', P .. 'touched', unpack(pairs_of, first, math.min(first + 3999, #pairs_of)))
  end
  if redis.call('ZADD', P .. 'outbox', 'NX', int(now + gather_ms), 'tasks') == 1 then
    redis.call('HSET', P .. 'effects', 'tasks', int(now) .. ' {"kind":"tasks","gather":' .. int(gather_ms) .. '}')
  end
end

local function forget_touched(P, members)
  for first = 1, #members, 4000 do
    redis.call('ZREM', P .. 'touched', unpack(members, first, math.min(first + 3999, #members)))
  end
end
