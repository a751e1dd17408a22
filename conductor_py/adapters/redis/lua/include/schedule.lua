-- A schedule is kept as '<version> <generation> <next ms> <armed> <tries> <document>'.
local function read_schedule(P, name)
  local text = redis.call('HGET', P .. 'schedules', name)
  if not text then
    return nil
  end
  local version, generation, next_ms, armed, tries, at = string.match(text, '^(%d+) (%d+) (%d+) (%d) (%d+) ()')
  if not version or math.max(#version, #generation, #next_ms, #tries) > 16 then
    return nil, 'the stored schedule cannot be read'
  end
  return {version = tonumber(version), generation = tonumber(generation), next_ms = tonumber(next_ms),
    armed = armed == '1', tries = tonumber(tries), document = string.sub(text, at)}
end

local function write_schedule(P, name, schedule)
  local text = string.format('%d %d %d %d %d ', schedule.version, schedule.generation, schedule.next_ms,
    schedule.armed and 1 or 0, schedule.tries) .. schedule.document
  redis.call('HSET', P .. 'schedules', name, text)
  return text
end

local function arm_schedule(P, name, due)
  if due > 0 then
    redis.call('ZADD', P .. 'schedules:due', int(due), name)
  else
    redis.call('ZREM', P .. 'schedules:due', name)
  end
end
