-- PURPOSE    Drop those of some snapshots that nobody touched for a while.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, unused for ms, hash, …
-- RETURNS    how many went
-- INVARIANT  A start or commit that names one touches it in its own script, so none is dropped under it.
-- BOUND      The number of arguments.
-- @include room
-- @include time
local P, before, gone = KEYS[1], store_now(ARGV[1]) - tonumber(ARGV[2]), 0
goes_on(P)
for i = 3, #ARGV do
  local used = redis.call('HGET', P .. 'plan:' .. ARGV[i], 'used_at')
  if used and tonumber(used) <= before then
    redis.call('UNLINK', P .. 'plan:' .. ARGV[i])
    redis.call('ZREM', P .. 'plans', ARGV[i])
    gone = gone + 1
  end
end
return gone
