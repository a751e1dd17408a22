-- PURPOSE    Replace the record of one file, if it is still the one that the caller saw.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       file id, execution, record before, record after (empty: none), when to look again, most files
-- RETURNS    1; 0 when the record is another; -1 when the execution has as many files as it may have
-- INVARIANT  files:of holds for each execution how many of its files are in files; files:due has each file.
--            What is noted of an execution in files:gone goes with the last of its files.
-- BOUND      Constant.
-- @include room
local P, id, owner = KEYS[1], ARGV[1], ARGV[2]
if ARGV[3] == '' then
  needs_room(P)
else
  goes_on(P)
end
local files, due, counts = P .. 'files', P .. 'files:due', P .. 'files:of'
if (redis.call('HGET', files, id) or '') ~= ARGV[3] then
  return 0
end
if ARGV[4] == '' then
  if redis.call('HDEL', files, id) == 1 and redis.call('HINCRBY', counts, owner, -1) <= 0 then
    redis.call('HDEL', counts, owner)
    redis.call('ZREM', P .. 'files:gone', owner)
  end
  redis.call('ZREM', due, id)
  return 1
end
if ARGV[3] == '' then
  if tonumber(redis.call('HGET', counts, owner) or '0') >= tonumber(ARGV[6]) then
    return -1
  end
  redis.call('HINCRBY', counts, owner, 1)
end
redis.call('HSET', files, id, ARGV[4])
redis.call('ZADD', due, ARGV[5], id)
return 1
