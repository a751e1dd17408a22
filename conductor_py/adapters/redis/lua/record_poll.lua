-- PURPOSE    Write down who polled which shards, for polls that go to several partitions.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, field, value, …
-- RETURNS    1
-- INVARIANT  The newest are kept.
-- BOUND      The number of arguments, and 1,000 of the oldest.
-- @include room
-- @include time
-- @include polls
goes_on(KEYS[1])
local set = {}
for i = 2, #ARGV do
  set[i - 1] = ARGV[i]
end
note_polls(KEYS[1], set, tonumber(ARGV[1]))
return 1
