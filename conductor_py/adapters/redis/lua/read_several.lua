-- PURPOSE    Read several executions whole that are small, with their logs where they have ended.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       fields of one, bytes of all together, about; ids
-- RETURNS    for each: names and values, and log lines; or false: it is gone, is not small, has checkpoints,
--            or cannot be read
-- INVARIANT  Writes nothing.
-- BOUND      The bytes; 100 log lines of each.
-- @include record
local P, left = KEYS[1], tonumber(ARGV[2])

local function whole(id)
  local key, log = P .. 'exec:' .. id, P .. 'log:' .. id
  local fields = redis.call('HLEN', key)
  if fields == 0 or fields > tonumber(ARGV[1]) or redis.call('EXISTS', P .. 'ckpt:' .. id) == 1 then
    return false
  end
  local has_ended = read_record(redis.call('HGET', key, 'v') or '').terminal
  local lines = has_ended and redis.call('LLEN', log) or 0
  local bytes = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0)
    + (lines > 0 and redis.call('MEMORY', 'USAGE', log, 'SAMPLES', 0) or 0)
  if lines > 100 or bytes > left then
    return false
  end
  left = left - bytes
  return {redis.call('HGETALL', key), lines > 0 and redis.call('LRANGE', log, 0, -1) or {}}
end

local found = {}
for i = 3, #ARGV do
  local done, each = pcall(whole, ARGV[i])
  found[i - 2] = done and each
end
return found
