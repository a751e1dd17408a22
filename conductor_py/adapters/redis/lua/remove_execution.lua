-- PURPOSE    Forget an execution that has been archived.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, version
-- RETURNS    OK | STALE | GONE
-- INVARIANT  Compare and delete: terminal, drained, nothing in its inbox, and still that version. Its plan counts one
--            execution less.
-- BOUND      Constant; memory is freed in the background.
-- @include room
-- @include record
-- @include references
local P, id = KEYS[1], ARGV[1]
goes_on(P)
local key = P .. 'exec:' .. id
local present = redis.call('HMGET', key, 'v', 'h')
if not present[1] then
  return 'GONE'
end
local record = read_record(present[1])
if not record.terminal or record.version ~= tonumber(ARGV[2]) or redis.call('EXISTS', P .. 'inbox:' .. id) == 1
  or is_draining(present[2]) then
  return 'STALE'
end
count_reference(P, plan_of_header(present[2]), -1)
redis.call('UNLINK', key, P .. 'ans:' .. id, P .. 'park:' .. id, P .. 'log:' .. id, P .. 'ckpt:' .. id)
redis.call('ZREM', P .. 'timers:' .. record.home, 'x:' .. id)
return 'OK'
