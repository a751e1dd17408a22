-- PURPOSE    Tell a partition how many permits of a limit it has, and let it give back what it does not use.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, t | w, what is limited, limit, token, number of permits under that token, look | keep what is
--            unused | give it back | yield one of those in use when it is free, event of those who wait and are admitted
-- RETURNS    {token, number it may still use, number in use, does somebody wait, {executions admitted}}
-- INVARIANT  A number under an old token is not taken, one that arrives late only as far as it is in use. What is in
--            use is never more than was given, and what is answered as gone is not used any more.
-- BOUND      Executions admitted: 100.
-- @include room
-- @include time
-- @include record
-- @include permits
-- @include admission
local P, now, kind, what, limit = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
goes_on(P)
local token, number, mode = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local name = kind .. ':' .. what

local counted
if kind == 't' then
  counted = P .. 'limit:' .. what
  redis.call('ZREMRANGEBYSCORE', counted, '-inf', int(now))
else
  counted = P .. 'admitted:' .. what
  drop_dead(P, counted)
end
local used = redis.call('ZCARD', counted)
local has = permits_of(P, name, now, used)
if token > has.token then
  -- What is so old may have been taken back already, and that have been forgotten here.
  has.token, has.number = token, token > now - 300000 and number or math.min(number, used)
end
if mode == 'give' then
  has.number = math.min(has.number, used)
elseif mode == 'yield' then
  has.number = math.min(has.number, math.max(used - 1, 0))
end
local number_now = has.limit <= limit and math.min(has.number, limit) or 0
if mode ~= 'look' then
  has.limit, number_now = limit, has.number
end
if has.token > 0 then
  keep_permits(P, name, has, used)
end
local woken, waits = {}, 0
if kind == 'w' then
  if mode == 'keep' then
    woken = admit_waiting(P, what, ARGV[8], now, true)
    used = redis.call('ZCARD', counted)
  end
  waits = redis.call('EXISTS', P .. 'waiting:' .. what)
end
return {has.token, number_now, used, waits, woken}
