-- PURPOSE    Write down who polled which shards, for polls that go to several partitions.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, field, value, …
-- RETURNS    1
-- INVARIANT  The newest are kept: what is told late replaces nothing newer.
-- BOUND      The number of arguments, and 1,000 of the oldest.
-- @include room
-- @include time
-- @include polls
goes_on(KEYS[1])
local now, set = tonumber(ARGV[1]), {}
for i = 2, #ARGV, 2 do
  local known = string.match(redis.call('HGET', KEYS[1] .. 'polldata', ARGV[i]) or '', '^%d+')
  if tonumber(known or 0) <= now then
    set[#set + 1], set[#set + 2] = ARGV[i], ARGV[i + 1]
  end
end
if #set > 0 then
  note_polls(KEYS[1], set, now)
end
return 1
