-- PURPOSE    Read the newest log lines of an execution.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, bytes
-- RETURNS    lines, oldest first: the newest, until they come to so many bytes
-- INVARIANT  Writes nothing.
-- BOUND      The bytes, and 500 lines more; 10,000 lines.
local log, left = KEYS[1] .. 'log:' .. ARGV[1], tonumber(ARGV[2])
local newest, last = {}, -1
repeat
  local page = redis.call('LRANGE', log, last - 499, last)
  for i = #page, 1, -1 do
    left = left - #page[i]
    if left < 0 and #newest > 0 then
      break
    end
    newest[#newest + 1] = page[i]
  end
  last = last - 500
until left < 0 or #page < 500
local lines = {}
for i = #newest, 1, -1 do
  lines[#lines + 1] = newest[i]
end
return lines
