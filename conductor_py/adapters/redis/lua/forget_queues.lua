-- PURPOSE    Forget the names of queues that nothing is in any more.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       how many names may stay in any case, '<queue> newline <shard>' …
-- RETURNS    how many went
-- INVARIANT  A name stays while its queue has an entry, ready or delayed, or its limit or rate is in use. Whoever adds
--            an entry writes the name in the same script, so no entry is without.
-- BOUND      The names given.
-- @include room
local P, gone = KEYS[1], 0
local surplus = redis.call('SCARD', P .. 'queues') - tonumber(ARGV[1])
goes_on(P)
for i = 2, #ARGV do
  if gone >= surplus then
    break
  end
  local name = ARGV[i]
  local queue, shard = string.match(name, '^(.*)\n([^\n]*)$')
  local lane = queue and queue .. ':' .. shard
  if not lane or redis.call('EXISTS', P .. 'queue:' .. lane, P .. 'delayed:' .. lane, P .. 'limit:' .. queue,
    P .. 'rate:' .. queue, P .. 'rates:' .. queue) == 0 then
    gone = gone + redis.call('SREM', P .. 'queues', name)
  end
end
return gone
