-- The store's time in epoch ms; the caller may inject one (tests).
local function store_now(injected)
  if injected ~= '' then
    return tonumber(injected)
  end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function int(number)
  return string.format('%d', number)
end
