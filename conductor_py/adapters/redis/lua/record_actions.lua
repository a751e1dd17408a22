-- PURPOSE    Append records of what event handlers and notifications did, and count them.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       limit, outcome, record, outcome, record, …
-- RETURNS    nothing of interest
-- INVARIANT  The newest are kept, all are counted; an empty record is counted only.
-- BOUND      The limit; the number of arguments.
-- @include room
local P = KEYS[1]
goes_on(P)
for i = 2, #ARGV, 2 do
  redis.call('HINCRBY', P .. 'event:counts', ARGV[i], 1)
  if ARGV[i + 1] ~= '' then
    redis.call('LPUSH', P .. 'event:records', ARGV[i + 1])
  end
end
redis.call('LTRIM', P .. 'event:records', 0, tonumber(ARGV[1]) - 1)
return 1
