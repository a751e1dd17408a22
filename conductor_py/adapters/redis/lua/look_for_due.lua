-- PURPOSE    Tell which of some due sets have something due.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, name of a set by due time, …
-- RETURNS    {number of the name among those given, …}
-- INVARIANT  Writes nothing.
-- BOUND      The number of arguments.
-- @include time
local P, now, found = KEYS[1], store_now(ARGV[1]), {}
for i = 2, #ARGV do
  local head = redis.call('ZRANGE', P .. ARGV[i], 0, 0, 'WITHSCORES')
  if head[2] and tonumber(head[2]) <= now then
    found[#found + 1] = i - 1
  end
end
return found
