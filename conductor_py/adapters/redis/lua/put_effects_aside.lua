-- PURPOSE    Put aside effects of which their handlers cannot read what they order.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, stamp, what is wrong, …
-- RETURNS    how many were put aside
-- INVARIANT  One that is gone stays gone; one that was ordered anew (another stamp) keeps its time.
-- BOUND      The number of arguments.
-- @include room
-- @include time
-- @include damage
local P, now, aside = KEYS[1], store_now(ARGV[1]), 0
goes_on(P)
for i = 2, #ARGV, 3 do
  local text = redis.call('HGET', P .. 'effects', ARGV[i])
  if text and string.match(text, '^%d+') == ARGV[i + 1] then
    put_aside(P, 'outbox', ARGV[i], ARGV[i + 2], now)
    aside = aside + 1
  end
end
return aside
