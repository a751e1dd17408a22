-- PURPOSE    List attempts that were touched before now, the oldest first.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, limit
-- RETURNS    {task id, touched ms, …}
-- INVARIANT  Writes nothing. What is touched from now on has a later instant, so whoever reads an attempt now and drops
--            the touch with this one loses none.
-- BOUND      The limit.
-- @include time
local P, now = KEYS[1], store_now(ARGV[1])
return redis.call('ZRANGE', P .. 'touched', '-inf', '(' .. int(now), 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
