-- PURPOSE    Note what a look has found of the execution of files, if nobody has noted something else.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       execution, what was noted, what is noted now (0: nothing)
-- RETURNS    1; 0 when something else was noted, or it has no files
-- INVARIANT  Nothing is noted of an execution that has no files.
-- BOUND      Constant.
-- @include room
local P, owner = KEYS[1], ARGV[1]
goes_on(P)
local gone = P .. 'files:gone'
if tonumber(redis.call('ZSCORE', gone, owner) or '0') ~= tonumber(ARGV[2]) then
  return 0
end
if redis.call('HEXISTS', P .. 'files:of', owner) == 0 then
  return 0
end
if ARGV[3] == '0' then
  redis.call('ZREM', gone, owner)
else
  redis.call('ZADD', gone, ARGV[3], owner)
end
return 1
