-- Permits that a partition has of a limit over several: '<token> <number> <limit>' under permitted:<limit>. Without
-- permits the token is kept for ten minutes, so that an old number does not come back; the key's own expiry, which is
-- later, only cleans up.
local function permits_of(P, name, now, used)
  local token, number, limit = string.match(redis.call('GET', P .. 'permitted:' .. name) or '0 0 0', '^(%d+) (%d+) (%d+)$')
  local has = {token = tonumber(token or 0), number = tonumber(number or 0), limit = tonumber(limit or 0)}
  if now and has.number == 0 and used == 0 and has.token <= now - 600000 then
    return {token = 0, number = 0, limit = 0}
  end
  return has
end

local function keep_permits(P, name, has, used)
  local text = int(has.token) .. ' ' .. int(has.number) .. ' ' .. int(has.limit)
  if has.number > 0 or used > 0 then
    redis.call('SET', P .. 'permitted:' .. name, text)
  else
    redis.call('SET', P .. 'permitted:' .. name, text, 'PX', 660000)
  end
end

-- How many may be in use here under a limit; what was given under a higher one is not counted on any more.
local function permitted(P, name, limit)
  local has = permits_of(P, name)
  return has.limit <= limit and math.min(has.number, limit) or 0
end
