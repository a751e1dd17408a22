-- PURPOSE    Forget touched attempts that the index knows.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       task id, touched ms, …
-- RETURNS    how many went
-- INVARIANT  One that was touched again since stays.
-- BOUND      The number of arguments.
-- @include room
goes_on(KEYS[1])
local touched, gone = KEYS[1] .. 'touched', 0
for i = 1, #ARGV, 2 do
  if tonumber(redis.call('ZSCORE', touched, ARGV[i]) or -1) == tonumber(ARGV[i + 1]) then
    gone = gone + redis.call('ZREM', touched, ARGV[i])
  end
end
return gone
