-- What cannot be read: `damaged`, '<set> <member>' -> '<since ms> <tries> <next ms> <what is wrong>', at most 1,000. The
-- member stays in its set, for longer each time: see ports/damage.py.
local LONGEST_MEMBER = 300

-- Notes a member that cannot be read; returns when it is looked at again, nil when it is none of ours.
local function note_damage(P, set, member, problem, now)
  if #member > LONGEST_MEMBER then
    return nil
  end
  local key, field = P .. 'damaged', set .. ' ' .. member
  local known = redis.call('HGET', key, field)
  local since, tries = string.match(known or '', '^(%d+) (%d+) ')
  tries = tonumber(tries or 0) + 1
  local due = now + math.min(60000 * 2 ^ math.min(tries - 1, 20), 86400000)
  if known or redis.call('HLEN', key) < 1000 then
    local said = type(problem) == 'table' and problem.err or tostring(problem)
    redis.call('HSET', key, field, string.format('%d %d %d %s', since or now, tries, due, string.sub(said, 1, 200)))
  end
  return due
end

-- Moves a member of a sorted set to where it waits.
local function put_aside(P, set, member, problem, now)
  local due = note_damage(P, set, member, problem, now)
  if due then
    redis.call('ZADD', P .. set, string.format('%d', due), member)
  else
    redis.call('ZREM', P .. set, member)
  end
end

-- Forgets what could be read again; `noted` says whether anything is noted at all.
local function forget_damage(P, set, member, noted)
  if noted then
    redis.call('HDEL', P .. 'damaged', set .. ' ' .. member)
  end
end

-- Is a problem one of this execution alone? A key of the wrong type that many share is not: it is mended apart.
local function is_its_own(P, id, problem)
  local said = type(problem) == 'table' and problem.err or tostring(problem)
  if not string.find(said, 'WRONGTYPE', 1, true) then
    return true
  end
  local wanted = {exec = 'hash', inbox = 'list', park = 'set', ans = 'hash'}
  for name, kind in pairs(wanted) do
    local found = redis.call('TYPE', P .. name .. ':' .. id).ok
    if found ~= 'none' and found ~= kind then
      return true
    end
  end
  return false
end
