-- PURPOSE    End every attempt to bring an archived execution back: its archive was deleted.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id
-- RETURNS    OK | EXISTS: it is back
-- INVARIANT  An execution that is present is not touched. Whoever read the archive before has a token that has ended.
-- BOUND      Constant; memory is freed in the background.
-- @include room
local P, key = KEYS[1], KEYS[1] .. 'exec:' .. ARGV[1]
goes_on(P)
if redis.call('HEXISTS', key, 'v') == 1 then
  return 'EXISTS'
end
redis.call('UNLINK', key, P .. 'ckpt:' .. ARGV[1])
return 'OK'
