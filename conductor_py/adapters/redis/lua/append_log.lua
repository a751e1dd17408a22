-- PURPOSE    Keep a log line of an attempt.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, seq, line
-- RETURNS    OK | UNKNOWN_TASK | GONE
-- INVARIANT  An execution that is gone gets no key.
-- BOUND      10,000 lines an execution, the oldest go.
-- @include room
needs_room(KEYS[1])
local key = KEYS[1] .. 'exec:' .. ARGV[1]
local present = redis.call('HMGET', key, 'v', 'a:' .. ARGV[2])
if not present[1] then
  return 'GONE'
end
if not present[2] then
  return 'UNKNOWN_TASK'
end
local log = KEYS[1] .. 'log:' .. ARGV[1]
if redis.call('RPUSH', log, ARGV[3]) > 10000 then
  redis.call('LTRIM', log, -10000, -1)
end
return 'OK'
