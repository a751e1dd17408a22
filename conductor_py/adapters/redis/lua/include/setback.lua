-- Setbacks of one version: `q`, '<version> <tries> <since> <reason>'; of another version they are over. In quarantine
-- the lease says '<until> quarantine', and the execution is in the set `quarantine`. See ports/quarantine.py.
local QUARANTINE, VANISHED = 'quarantine', 'whoever decided on it vanished'

local function setback_of(text, version)
  if not text then
    return 0, 0, ''
  end
  local of_version, tries, since, reason = string.match(text, '^(%d+) (%d+) (%d+) (.*)$')
  if tonumber(of_version) ~= version then
    return 0, 0, ''
  end
  return tonumber(tries), tonumber(since), reason
end

-- Counts one more; the caller has seen that the lease is free or its own. Returns how many, and whether it is in
-- quarantine now.
local function set_back(P, id, record, text, reason, most, wait_ms, now)
  local key, member = P .. 'exec:' .. id, 'x:' .. id
  local tries, since = setback_of(text, record.version)
  tries, since = tries + 1, tries > 0 and since or now
  local lease, due = '', now + math.min(1000 * 2 ^ math.min(tries - 1, 20), 60000)
  if tries >= most then
    due = now + math.min(wait_ms * 2 ^ math.min(tries - most, 20), 86400000)
    lease = int(due) .. ' ' .. QUARANTINE
    redis.call('ZADD', P .. 'quarantine', int(since), id)
  end
  redis.call('HSET', key, 'l', lease, 'q', string.format('%d %d %d %s', record.version, tries, since, reason))
  redis.call('ZADD', P .. 'timers:' .. record.home, int(due), member)
  return tries, lease ~= ''
end
